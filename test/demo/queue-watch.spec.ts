import { describe, expect, it } from '@jest/globals';
import { QueueWatch } from '../../apps/seckill-demo/src/arena/queue-watch.js';

/** The findings of a watch that reads these queues, one after the other. */
async function watched(...lines: readonly string[]) {
  const rest = lines.map((line) => line.split(''));
  let allRead: () => void = () => undefined;
  const isRead = new Promise<void>((resolve) => {
    allRead = resolve;
  });
  const watch = new QueueWatch(() => {
    const line = rest.shift() ?? [];
    if (rest.length === 0) allRead();
    return Promise.resolve(line);
  });
  await isRead;
  return watch.stop();
}

describe('the queue of a fair lock in Redis', () => {
  it.each([
    ['served in its order', ['abcd', 'bcd', 'cd', ''], 0],
    ['that grows meanwhile', ['ab', 'bcd', 'd', ''], 0],
    ['with one who left before two others', ['abcd', 'abd', 'bd', ''], 100 / 3],
    ['with two who left before the first', ['abcd', 'ad', ''], 100 / 3],
    ['served from its end', ['abcd', 'abc', 'ab', 'a', ''], 100],
    ['of one', ['a', ''], undefined],
    ['that was never seen', [''], undefined],
  ])('%s', async (_, lines, overtaken) => {
    expect((await watched(...lines)).overtaken).toEqual(overtaken);
  });

  it('is told how many commands the reads are', async () => {
    expect((await watched('ab', 'b', '')).reads).toBeGreaterThanOrEqual(3);
  });
});
