import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const NEWEST = 'nestjs_fence';

export const FENCING_GUARD_FOOTPRINT = {
  commands: ['get', 'set'],
  keys: [prefixOf(NEWEST)],
  channels: [],
} satisfies Footprint;

/** The newest token that has written to a key. */
export function newestKey(guarded: string): string {
  return helperKey(NEWEST, guarded);
}
