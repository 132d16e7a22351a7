import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { endLine, withProgress } from '../../scripts/progress.mjs';
import type { Measure } from '../../scripts/progress.mjs';

describe('withProgress', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Everything that is written while a step takes so long. */
  async function written(
    { ms, ...terminal }: { ms: number; isTTY?: boolean; columns?: number },
    measure?: Measure,
  ): Promise<string[]> {
    const said: string[] = [];
    const stream = { ...terminal, write: (text: string) => said.push(text) };
    const step = () => new Promise<void>((resolve) => setTimeout(resolve, ms));
    const over = withProgress('Installing dependencies', step, {
      stream: stream as unknown as NodeJS.WriteStream,
      ...(measure && { measure }),
    });
    await jest.advanceTimersByTimeAsync(ms);
    await over;
    return said;
  }
  const packages = () => ({ done: 412, total: 640, unit: 'packages' });
  const terminal = { isTTY: true, columns: 80 };

  it('says nothing of a step that is over at once', async () => {
    expect(await written({ ms: 400 })).toEqual([]);
    expect(await written({ ms: 400, ...terminal })).toEqual([]);
  });

  it('is never silent for two seconds where it writes lines', async () => {
    const lines = await written({ ms: 10_000 }, packages);
    expect(lines[0]).toBe('Installing dependencies  412 of 640 packages  0 s\n');
    expect(lines.at(-1)).toBe('Installing dependencies  412 of 640 packages  10 s\n');
    expect(lines.length).toBeGreaterThan(10_000 / 2_000);
  });

  it('writes one line anew on a terminal, and leaves it behind', async () => {
    const said = await written({ ms: 14_100, ...terminal }, packages);
    const bar = '███████████████░░░░░░░░░';
    const line = `Installing dependencies  ${bar}  412 of 640 packages  14 s`;
    expect(said.slice(-2)).toEqual([`\r${line}\x1b[K`, '\n']);
    expect(said.join('').split('\n')).toHaveLength(2);
  });

  it('has no bar while nothing can be counted', async () => {
    const [first] = await written({ ms: 1_000, ...terminal }, () => undefined);
    expect(first).toBe('\rInstalling dependencies  0 s\x1b[K');
  });

  it.each([20, 40, 52, 60, 70])('fits a terminal of %d columns', async (columns) => {
    const said = await written({ ms: 14_100, isTTY: true, columns }, packages);
    const longest = Math.max(
      ...said.map((text) => text.replace('\r', '').replace('\x1b[K', '').length),
    );
    expect(longest).toBeLessThan(columns);
  });

  it('shows the oldest of several steps, then the next', async () => {
    const said: string[] = [];
    const stream = { ...terminal, write: (text: string) => said.push(text) };
    const take = (label: string, ms: number) =>
      withProgress(label, () => new Promise<void>((resolve) => setTimeout(resolve, ms)), {
        stream: stream as unknown as NodeJS.WriteStream,
      });
    const over = Promise.all([take('one', 1_000), take('two', 1_600), take('three', 700)]);
    await jest.advanceTimersByTimeAsync(1_600);
    await over;
    const shown = said.join('').replaceAll('\x1b[K', '');
    expect(shown).toMatch(/^(\rone {2}\d s)+\n(\rtwo {2}\d s)+\n$/);
  });

  it('ends the line of a step that still runs before another output', async () => {
    const said: string[] = [];
    const stream = { ...terminal, write: (text: string) => said.push(text) };
    const step = () => new Promise<void>((resolve) => setTimeout(resolve, 600));
    const over = withProgress('one', step, { stream: stream as unknown as NodeJS.WriteStream });
    await jest.advanceTimersByTimeAsync(500);
    endLine();
    endLine();
    expect(said).toEqual(['\rone  0 s\x1b[K', '\n']);
    await jest.advanceTimersByTimeAsync(100);
    await over;
  });

  it('hands on what the step comes to, and its failure', async () => {
    await expect(withProgress('a step', () => Promise.resolve(7))).resolves.toBe(7);
    const failing = withProgress('a step', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(jest.getTimerCount()).toBe(0);
  });
});
