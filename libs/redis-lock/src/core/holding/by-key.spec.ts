import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByKey } from './by-key.js';

const key = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'toString');
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key }),
  fc.record({ do: fc.constant('delete' as const), key }),
);

describe('what there is for each key', () => {
  it('is what a Map would have', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const [values, model] = [new ByKey<number>(), new Map<string, number>()];
        steps.forEach(({ do: what, key }, i) => {
          if (what === 'delete') {
            values.delete(key);
            model.delete(key);
          } else if (!model.has(key)) {
            values.add(key, i);
            model.set(key, i);
          }
          expect(values.get(key)).toBe(model.get(key));
          expect(values.size).toBe(model.size);
          expect(values.values()).toEqual([...model.values()]);
        });
      }),
    );
  });
});
