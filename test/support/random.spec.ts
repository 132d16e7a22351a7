import { describe, expect, it } from '@jest/globals';
import { Random, seededRandom } from './random.js';

const draw = (random: Random, count = 1000) => Array.from({ length: count }, () => random.next());

describe('Random', () => {
  it('gives the same draws for the same seed, and others for another', () => {
    expect(draw(new Random(7))).toEqual(draw(new Random(7)));
    expect(draw(new Random(7))).not.toEqual(draw(new Random(8)));
    expect(draw(seededRandom('a'))).toEqual(draw(seededRandom('a')));
    expect(draw(seededRandom('a'))).not.toEqual(draw(seededRandom('b')));
  });

  it('forks streams that do not depend on draws made in between', () => {
    const used = new Random(7);
    draw(used);
    expect(draw(used.fork('x'))).toEqual(draw(new Random(7).fork('x')));
    expect(draw(used.fork('x'))).not.toEqual(draw(used.fork('y')));
  });

  it('spreads over the whole range', () => {
    const random = new Random(7);
    const counts = [0, 0, 0, 0];
    for (let draws = 0; draws < 4000; draws += 1) {
      const value = random.int(1, 4);
      counts[value - 1] = (counts[value - 1] ?? 0) + 1;
    }
    for (const count of counts) expect(count).toBeGreaterThan(850);
    expect(random.shuffle([1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5]);
  });
});
