import type { Random } from '../../support/random.js';

export type Range = readonly [min: number, max: number];

interface Plan {
  /** How many of them are in each deck. */
  readonly times: number;
  /** How long it lasts, or how late something comes. */
  readonly ms?: Range;
  readonly bytes?: Range;
}

/** How faults follow each other: in storms, so that they meet; in between there is much to be done. */
export interface Pace {
  readonly apartMs: Range;
  readonly storm: Range;
  readonly calmSections: Range;
}

/** A crowd on a contended lock meets these faults; `fault-injector.ts` makes them. */
export const FAULTS = {
  // Connections, of commands or of messages.
  reset: { times: 5 },
  'end of stream': { times: 4 },
  'client side reset': { times: 2 },
  'server side reset': { times: 2 },
  'lost reply': { times: 12 },
  'lost request': { times: 6 },
  'request cut in the middle': { times: 3, bytes: [1, 400] },
  'reply cut in the middle': { times: 3, bytes: [1, 60] },
  'requests come late': { times: 3, ms: [5, 150] },
  'replies come late': { times: 3, ms: [5, 150] },
  'requests come after their connection': { times: 4, ms: [10, 700] },
  'black hole': { times: 3, ms: [50, 700] },
  'half a black hole': { times: 2, ms: [50, 700] },
  // Messages.
  'subscribers killed': { times: 3 },
  'subscriber cut': { times: 3 },
  'messages lost': { times: 3, ms: [20, 400] },
  'messages forged': { times: 3 },
  'messages repeated': { times: 2, ms: [5, 30] },
  'grants forged': { times: 2 },
  // The server.
  'scripts flushed': { times: 4 },
  'server stands still': { times: 2, ms: [10, 120] },
  'server loses its data': { times: 1 },
  'keys deleted': { times: 1 },
  'lock deleted': { times: 4 },
  'dead process in the queue': { times: 2, ms: [500, 3_000] },
  // Processes. One that stands still may do so for longer than its leases.
  'process killed': { times: 1 },
  'process stands still': { times: 1, ms: [300, 1_500] },
  'process leaves': { times: 1 },
} as const satisfies Record<string, Plan>;

export type FaultKind = keyof typeof FAULTS;
export type Plans = Partial<Record<FaultKind, Plan>>;

export interface PlannedFault {
  readonly kind: FaultKind;
  /** So many sections after the one before it, and then so long. */
  readonly afterSections: number;
  readonly afterMs: number;
  /** The fault hits this one of those that there are then, from 0 to below 1. */
  readonly victim: number;
  readonly ms: number;
  readonly bytes: number;
}

const NONE: Range = [0, 0];

/** Faults without end, the same for the same seed. Every deck holds each kind. */
export function* faultSchedule(
  random: Random,
  plans: Plans,
  { apartMs, storm, calmSections }: Pace,
): Generator<PlannedFault, never> {
  let left = 0;
  const kinds = Object.entries(plans) as [FaultKind, Plan][];
  const deck = kinds.flatMap((kind) => Array.from({ length: kind[1].times }, () => kind));
  for (;;) {
    for (const [kind, { ms = NONE, bytes = NONE }] of random.shuffle(deck)) {
      const isCalm = --left < 0;
      if (isCalm) left = random.int(...storm) - 1;
      yield {
        kind,
        afterSections: isCalm ? random.int(...calmSections) : 0,
        afterMs: random.int(...apartMs),
        victim: random.next(),
        ms: random.int(...ms),
        bytes: random.int(...bytes),
      };
    }
  }
}
