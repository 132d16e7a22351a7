import type { Step } from '../../arena/step.js';
import { Observable } from '../observable.js';
import { selection } from '../selection.js';
import { store } from '../store.js';
import { connection } from './connection.js';

/** The interval at which new steps are passed on, as in a live arena. */
const BATCH_MS = 50;

/** A recorded run, played by its own clock. */
export class Recording extends Observable {
  #steps: readonly Step[] = [];
  /** The number of steps played so far. */
  #played = 0;
  #now = 0;
  #speed = 1;
  #isPlaying = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #lastTick = 0;

  /** `steps` are in order of time. */
  load(steps: readonly Step[]): void {
    this.#steps = steps;
    this.seek(this.start);
    this.play();
  }

  get isLoaded(): boolean {
    return this.#steps.length > 0;
  }

  get isPlaying(): boolean {
    return this.#isPlaying;
  }

  get now(): number {
    return this.#now;
  }

  /** Before the first cell, there is nothing to see. */
  get start(): number {
    return this.#steps.find(({ kind }) => kind === 'cell-began')?.at ?? 0;
  }

  get end(): number {
    return this.#steps.at(-1)?.at ?? 0;
  }

  get speed(): number {
    return this.#speed;
  }

  set speed(speed: number) {
    this.#speed = speed;
    this.changed();
  }

  play(): void {
    if (this.#now >= this.end) this.seek(this.start);
    this.#isPlaying = true;
    this.#lastTick = performance.now();
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, BATCH_MS);
    this.changed();
  }

  pause(): void {
    this.#isPlaying = false;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.changed();
  }

  /** To go back, it plays everything again up to there. */
  seek(at: number): void {
    if (at < this.#now) {
      store.reset();
      this.#played = 0;
    }
    this.#advanceTo(at);
  }

  /** Plays on from the end of this cell, if that is still to come. */
  skipTo(cell: string): void {
    const end = this.#steps.find((step) => step.kind === 'cell-ended' && step.cell === cell)?.at;
    if (end !== undefined && end > this.#now) this.seek(end);
  }

  #tick(): void {
    const tick = performance.now();
    this.#advanceTo(this.#now + (tick - this.#lastTick) * this.#speed);
    this.#lastTick = tick;
    if (this.#now >= this.end) this.pause();
  }

  #advanceTo(at: number): void {
    this.#now = Math.min(at, this.end);
    const next = this.#steps.findIndex((step, index) => index >= this.#played && step.at > at);
    const upTo = next < 0 ? this.#steps.length : next;
    store.add(this.#steps.slice(this.#played, upTo));
    this.#played = upTo;
    this.changed();
  }
}

export const recording = new Recording();

export async function playRecording(url: string): Promise<void> {
  // Said before it has arrived: a text that changes later would move the page.
  connection.set('recorded');
  const steps = await recordedSteps(url);
  recording.load(steps);
  const skip = (): void => {
    if (selection.cell !== undefined) recording.skipTo(selection.cell);
  };
  selection.subscribe(skip);
  skip();
}

const loaded = new Map<string, Promise<readonly Step[]>>();

/** Resolves with the steps in order of time; reads each file once. Rejects if it cannot be read. */
export function recordedSteps(url: string): Promise<readonly Step[]> {
  const steps = loaded.get(url) ?? load(url);
  loaded.set(url, steps);
  steps.catch(() => loaded.delete(url));
  return steps;
}

async function load(url: string): Promise<readonly Step[]> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const lines = (await response.text()).split('\n').filter((line) => line.trim() !== '');
  // Steps of another process may be late.
  return lines.map((line) => JSON.parse(line) as Step).sort((a, b) => a.at - b.at);
}
