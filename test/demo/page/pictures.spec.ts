import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { picturesOf } from '../../../apps/seckill-demo/src/picture/pictures.js';
import { recordedRun } from './recorded-run.js';

const FOLDER = new URL('../../../apps/seckill-demo/pictures/', import.meta.url);

const pictures = [...picturesOf(recordedRun())];
const duels = pictures.filter(([name]) => name.startsWith('duel.'));
const titleIn = (picture: string) => /<title>(.*)<\/title>/.exec(picture)?.[1];

describe('the pictures of the documents', () => {
  it('are those that the recorded run gives', () => {
    const kept = readdirSync(FOLDER).filter((name) => name.endsWith('.svg'));
    expect(kept.sort()).toEqual(pictures.map(([name]) => name).sort());
    const stale = pictures.filter(
      ([name, picture]) => readFileSync(new URL(name, FOLDER), 'utf8') !== picture,
    );
    expect(stale.map(([name]) => name)).toEqual([]);
  });

  it.each(pictures)('are small: %s', (_, picture) => {
    expect(Buffer.byteLength(picture)).toBeLessThanOrEqual(60_000);
  });

  it('tell in words what they show', () => {
    const titles = Object.fromEntries(pictures.map(([name, text]) => [name, titleIn(text)]));
    expect(titles['duel.en.dark.svg']).toBe(
      'No lock: 300 of 100 pieces sold, 200 oversold, 0 buyers sent away. ' +
        'With this library: 100 of 100 pieces sold, 0 oversold, 200 buyers sent away.',
    );
    expect(titles['holders.zh.light.svg']).toMatch(/超卖.*出现多个持有者.*正常.*最多一个持有者/);
  });

  it.each(duels)('stand at their end without motion: %s', (_, picture) => {
    const [still = '', moving = ''] = picture.split('@media(prefers-reduced-motion:no-preference)');
    expect(still).not.toContain('animation');
    expect(moving.slice(0, moving.indexOf('</style>'))).toContain('animation');
    const strips = [...picture.matchAll(/translate:0 (-?\d+)px;animation-name:.k">(.*?)<\/g>/g)];
    const shown = strips.map(([, offset, numbers = '']) => {
      const y = 44 - Number(offset);
      return new RegExp(`y="${y}">(\\d+)<`).exec(numbers)?.[1];
    });
    expect(shown).toEqual(['300', '100']);
  });

  it.each(duels)('have room for their numbers in a wide font: %s', (_, picture) => {
    const windows = [...picture.matchAll(/<svg y="42" width="(\d+)"/g)];
    // A bold digit of Verdana or DejaVu Sans is 0.71 em wide; an "M" is 1 em.
    const widest = '300'.length * 46 + 8 + '/ 100'.length * 24;
    expect(windows.filter(([, width]) => Number(width) >= widest)).toHaveLength(2);
  });

  it.each(duels)('have a dot for each buyer: %s', (_, picture) => {
    const dots = (kind: string) =>
      [...picture.matchAll(new RegExp(`<g class="${kind} .*?</g>`, 'g'))].flatMap(([group]) =>
        [...group.matchAll(/style="--f:/g)].map(() => kind),
      ).length;
    expect({ sold: dots('s'), oversold: dots('o'), away: dots('y') }).toEqual({
      sold: 200,
      oversold: 200,
      away: 200,
    });
  });
});
