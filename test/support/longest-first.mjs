import sequencer from '@jest/test-sequencer';

/**
 * The specs that take longest. Jest knows what a spec takes only where it has run before, and else
 * begins with the largest files: on a new machine one worker would end with these, and the other one
 * with nothing. The two that start the demo do not begin together: its first number has a bound.
 */
const LONGEST = [
  'web/shop',
  'web/docs-site',
  'web/run',
  'web/lighthouse',
  'simulation/planted',
  'docs/snippets',
  'simulation/simulation',
  'redis/permissions',
  'core/leaks',
  'redis/server-errors',
  'redis/moving-slots',
  'redis/moving-permits',
  'demo/foreign-redis',
  'redis/outage',
  'redis/replicas',
  'faults/demo-process',
  'faults/sale-kills',
  'faults/contended',
  'faults/mutual-exclusion',
  'faults/topologies',
  'faults/network',
  'faults/planted-bugs-contended',
  'faults/planted-bugs',
  'faults/write-lock-scripts',
  'faults/lock-scripts',
];

/** @param {{ path: string }} spec */
function rank({ path }) {
  const index = LONGEST.findIndex((name) => path.endsWith(`${name}.spec.ts`));
  return index < 0 ? LONGEST.length : index;
}

// Its types say that it is a CommonJS module, whose exports Node gives as one; it is none.
const InJestsOrder = /** @type {typeof import('@jest/test-sequencer').default} */ (
  /** @type {unknown} */ (sequencer)
);

/** The others follow in Jest's own order. */
export default class LongestFirst extends InJestsOrder {
  /**
   * @override
   * @type {InstanceType<typeof InJestsOrder>['sort']}
   */
  async sort(specs) {
    const sorted = await super.sort(specs);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}
