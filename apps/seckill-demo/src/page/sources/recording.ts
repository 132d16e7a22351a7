import type { Step } from '../../arena/step.js';
import { Observable } from '../observable.js';
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

  /** Sorts late steps by their time. */
  load(steps: readonly Step[]): void {
    this.#steps = [...steps].sort((a, b) => a.at - b.at);
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
  const response = await fetch(url);
  if (!response.ok) {
    connection.set('missing');
    return;
  }
  connection.set('recorded');
  recording.load(stepsOf(await response.text()));
}

function stepsOf(text: string): Step[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Step);
}
