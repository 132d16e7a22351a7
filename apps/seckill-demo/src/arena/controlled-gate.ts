import type { Gate, GatePoint } from '../seckill/gate.js';

/** A gate that holds a given number of orders until it is opened. */
export class ControlledGate implements Gate {
  readonly #room = new Map<GatePoint, number>();
  readonly #held = new Map<GatePoint, Array<() => void>>();

  constructor(
    private readonly onHeld: (point: GatePoint) => void,
    private readonly onPassed: (point: GatePoint) => void = () => undefined,
  ) {}

  reach(point: GatePoint): Promise<void> {
    this.onPassed(point);
    const room = this.#room.get(point) ?? 0;
    if (room === 0) return Promise.resolve();
    this.#room.set(point, room - 1);
    return new Promise((resolve) => {
      const held = this.#held.get(point);
      if (held === undefined) this.#held.set(point, [resolve]);
      else held.push(resolve);
      this.onHeld(point);
    });
  }

  /** Holds the next `count` orders that reach the point; later ones pass. */
  close(point: GatePoint, count: number): void {
    this.#room.set(point, count);
  }

  open(point: GatePoint): void {
    this.#room.delete(point);
    const held = this.#held.get(point) ?? [];
    this.#held.delete(point);
    for (const goOn of held) goOn();
  }
}
