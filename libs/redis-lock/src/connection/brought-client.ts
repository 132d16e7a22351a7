import { hasMethods } from '../core/api/shapes.js';
import type { ClientChoice } from './client.js';

/** An application may load this library in both formats, which share no class. */
const CHOOSE = 'nestjs-redis-lock:client';

/** A client of another package than ioredis, as an adapter such as `nodeRedis` returns it. */
export interface BroughtClient {
  /** For the library alone. */
  readonly 'nestjs-redis-lock:client': () => unknown;
}

export function brought(choose: () => ClientChoice): BroughtClient {
  return { [CHOOSE]: choose };
}

/** The choice of an adapter; undefined for any other value of the option `connection`. */
export function broughtChoice(connection: unknown): ClientChoice | undefined {
  return isBrought(connection) ? (connection[CHOOSE]() as ClientChoice) : undefined;
}

export function isBrought(value: unknown): value is BroughtClient {
  return hasMethods(value, CHOOSE);
}
