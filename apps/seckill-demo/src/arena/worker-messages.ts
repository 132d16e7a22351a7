import type { GatePoint } from '../seckill/gate.js';
import type { Note } from './note.js';

export type ToWorker =
  | { readonly kind: 'close'; readonly point: GatePoint; readonly count: number }
  | { readonly kind: 'open'; readonly point: GatePoint }
  /** Keeps the event loop busy for so long. */
  | { readonly kind: 'block'; readonly ms: number }
  /** Notes everything that is known now; answered with `flushed`. */
  | { readonly kind: 'flush' }
  | { readonly kind: 'stop' };

export type FromWorker =
  | { readonly kind: 'serving' }
  | { readonly kind: 'failed'; readonly message: string; readonly portTaken: boolean }
  | { readonly kind: 'closed'; readonly point: GatePoint }
  | { readonly kind: 'held'; readonly point: GatePoint }
  | { readonly kind: 'noted'; readonly notes: readonly Note[] }
  | { readonly kind: 'flushed' }
  | { readonly kind: 'line'; readonly line: string };
