import { afterEach, describe, expect, it } from '@jest/globals';
import { Example } from './example.js';

afterEach(() => Example.endAll());

const answersOf = (example: Example, count: number) =>
  example.finds(/^\[run\] \w+ answers (.*)/, count).then((answers) => answers.sort());

describe('an example that answers requests', () => {
  it.each([
    ['http', ['201 sold one of product 1', expect.stringMatching(/^423 .*"LOCK_TIMEOUT"/)]],
    ['graphql', [expect.stringContaining('"LOCK_TIMEOUT"'), expect.stringContaining('sold one')]],
  ])('%s sells one product at a time, in both instances', async (name, answers) => {
    const example = await Example.start(name);
    expect(await answersOf(example, 2)).toEqual(answers);
    expect(await example.finds(/an order begins/, 1)).toHaveLength(1);
    await example.keepsPromises();
    await example.endsCleanly();
  });

  it('transaction sells each piece once', async () => {
    const example = await Example.start('transaction');
    const statuses = (await answersOf(example, 10)).map((answer) => Number(answer.slice(0, 3)));
    expect(statuses).toEqual([201, 201, 201, 201, 201, 409, 409, 409, 409, 409]);
    expect((await example.finds(/tea: (\d+) left/, 5)).sort()).toEqual(['0', '1', '2', '3', '4']);
    await example.keepsPromises();
    await example.endsCleanly();
  });
});
