import { CommandError, type Store } from '../store.js';
import { unknown } from '../unknown.js';

/** A status, such as OK. */
export class Status {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');

/** An error can be an item of an answer. */
export type CommandReply = null | number | string | Status | CommandError | readonly CommandReply[];

/** The commands see this of the server. */
export interface Surroundings {
  /** In µs of wall time. */
  readonly micros: number;
  /** The receivers of a message. */
  publish(channel: string, message: string, isSharded: boolean): number;
  /** The connections that listen to a channel. */
  listenersOf(channel: string, isSharded: boolean): number;
  info(section: string): string;
}

/** A command of Redis. */
export interface Command {
  readonly least: number;
  readonly most: number;
  readonly isWrite: boolean;
  /** Refused with a full memory. */
  readonly grows: boolean;
  run(store: Store, args: readonly string[], server: Surroundings): CommandReply;
}

/** @param most the most arguments, or any number */
type Declare = (least: number, most: number, run: Command['run']) => Command;

const kind =
  (isWrite: boolean, grows: boolean): Declare =>
  (least, most, run) => ({ least, most, isWrite, grows, run });
export const reads = kind(false, false);
export const writes = kind(true, false);
export const grows = kind(true, true);

export const ANY = Infinity;

export const LARGEST = 2n ** 63n;

/** @throws {CommandError} the text is no whole number of 64 bits */
export function wholeOf(text = ''): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && String(number) === text) return number;
  const isWhole = /^(0|-?[1-9]\d{0,18})$/.test(text);
  if (!isWhole || BigInt(text) >= LARGEST || BigInt(text) < -LARGEST) {
    throw new CommandError('ERR value is not an integer or out of range');
  }
  return number;
}

/**
 * @throws {CommandError} the text is no number
 * @throws {UnknownError} the text is a number of C that this server does not read
 */
export function scoreOf(text = '', what = 'value is not a valid float'): number {
  const word = /^([+-]?)inf(inity)?$/i.exec(text);
  if (word !== null) return word[1] === '-' ? -Infinity : Infinity;
  if (/^[+-]?0x/i.test(text)) unknown(`number ${text}`);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new CommandError(`ERR ${what}`);
  return Number.isFinite(Number(text)) ? Number(text) : unknown(`number ${text}`);
}

/** The items from one place to another, both included; negative ones count from the end. */
export function rangeOf(from = '', to = ''): <T>(items: readonly T[] | undefined) => readonly T[] {
  const [start, end] = [wholeOf(from), wholeOf(to)];
  return (items = []) => {
    const last = end < 0 ? items.length + end : end;
    const first = start < 0 ? Math.max(0, items.length + start) : start;
    return items.slice(first, Math.max(0, last + 1));
  };
}
