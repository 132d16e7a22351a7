import { describe, expect, it } from '@jest/globals';
import { complaintsAbout } from '../../scripts/prose/complaints.mjs';
import { proseOfCode } from '../../scripts/prose/prose-of-code.mjs';

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

describe('the rule of plain words', () => {
  it.each([
    ['Whoever holds the lock releases it.', 'name the actor or the thing'],
    ['The lock waits for somebody.', 'name the actor'],
    ['Nobody holds it.', 'name the actor'],
    ['Redis was asked.', 'send, request, check or call'],
    ['The holder is told.', 'report, notify, say or show'],
    ['The caller heard of it.', 'receive, or be notified'],
    ['The permit is given back.', 'release or return'],
    ['A holder gives its own permit back.', 'release or return'],
    ['Another process had the lock.', 'hold, held or has'],
    ['Another process is at it.', 'name what the actor does'],
    ['A longer lease is of no use.', 'useful, or say what for'],
    ['The shop sells one too many.', 'one more than …'],
    ['The key stays for ever.', 'say until when'],
    ['A process ends his lease.', 'its, or you'],
  ])('refuses: %s', async (sentence, instead) => {
    expect(await complaintsAbout('page.md', sentence)).toEqual([expect.stringContaining(instead)]);
  });

  it.each([
    'What Redis says counts.',
    '**Who** waits?',
    'Whom Redis names holds it.',
    '- Of two callers one waits.',
  ])('refuses the opening: %s', async (sentence) => {
    expect(await complaintsAbout('page.md', sentence)).toEqual([
      expect.stringContaining('begins with'),
    ]);
  });

  it('counts the words of a sentence, and a piece of code as one', async () => {
    expect(
      await complaintsAbout('page.md', `${words(20)}. ${words(18)} \`let a = 1\` [end](a).`),
    ).toEqual([]);
    expect(await complaintsAbout('page.md', `Short.\n\n${words(21)}.`)).toEqual([
      'page.md:3: The sentence has 21 words, of at most 20',
    ]);
  });

  it('finds words that the end of a line parts', async () => {
    const text = 'A process is at\n  it. A key stays for\never, and the permit is given\nback.';
    expect(await complaintsAbout('page.md', text)).toHaveLength(3);
  });

  it('reads the texts of pictures', async () => {
    const text = '![nobody](a.svg)\n\n<picture>\n  <img src="a.svg" alt="Nobody" />\n</picture>\n';
    expect(await complaintsAbout('page.md', text)).toHaveLength(2);
  });

  it('reads headings, lists and tables, and no code', async () => {
    const text =
      '# Nobody\n\n- nobody\n\n| nobody |\n| --- |\n| `nobody` |\n\n```sh\nnobody\n```\n';
    const lines = (await complaintsAbout('page.md', text)).map(
      (complaint) => complaint.split(':')[1],
    );
    expect(lines).toEqual(['1', '3', '5']);
  });
});

describe('the rule of Chinese text', () => {
  it.each([
    ['锁由Redis持有', 2, 'needs a space between'],
    ['调用`acquire`', 1, 'needs a space between'],
    ['释放锁 ，然后结束', 1, 'has a space beside'],
    ['释放锁,然后结束', 1, 'needs a full-width sign'],
    ['持有者听到消息', 1, 'is a calque'],
    ['调用以 `LeaseLostError` 拒绝', 1, 'is a calque'],
    ['隔离令牌、栅栏和闩锁', 3, 'is a calque'],
    ['每个调用者', 1, 'is a calque'],
    ['**续期。**看门狗', 1, 'is no bold text'],
  ])('refuses: %s', async (text, times, complaint) => {
    const found = await complaintsAbout('page.md', text);
    expect(found).toEqual(Array.from({ length: times }, () => expect.stringContaining(complaint)));
  });

  it.each([
    '注意：**续期**：看门狗每 10 秒调用 `renew`（见[锁](lock.zh-CN.md)），不会 *阻塞*。',
    '槽正在迁移，所以 Redis 拒绝执行。',
  ])('takes: %s', async (text) => {
    expect(await complaintsAbout('page.md', text)).toEqual([]);
  });
});

describe('the prose of code', () => {
  const CODE = `/**
 * Acquires {@link Lock}.
 *
 * @throws {LockError} when it is busy
 */
const message = 'nothing reached ' + \`Redis within \${time} ms\`;
const name = 'not prose';
const lua = "local a = redis.call('get', KEYS[1]) or a b c d";
`;

  it('is docstrings and messages', () => {
    const { markdown: text } = proseOfCode('a.ts', CODE);
    const paragraphs = text.split(/\n\n+/).map((paragraph) => paragraph.trim());
    expect(paragraphs.filter((paragraph) => paragraph !== '')).toEqual([
      'Acquires `Lock`.',
      'when it is busy',
      'nothing reached Redis within \u200b§\u200b ms',
    ]);
  });

  it('is in the expressions of a text, too', () => {
    const code =
      "log(`busy ${held ? 'as one holder stays' : rest} now ` + (late && 'and a waiter left'));";
    const { markdown: text } = proseOfCode('a.ts', code);
    expect(text).toContain('as one holder stays');
    expect(text).toContain('and a waiter left');
  });

  it('has names of arguments in angle brackets, and no HTML', () => {
    const code = "a('the key is product_<id>'); b('<p class=\"a\">a text of three words</p>');";
    expect(proseOfCode('a.ts', code).markdown.trim()).toBe('the key is product_<id>');
  });

  it('knows the line of each', () => {
    const { markdown: text, places } = proseOfCode('a.ts', CODE);
    const lineOf = (start: string) =>
      places[text.split('\n').findIndex((line) => line.trim().startsWith(start))];
    expect([lineOf('Acquires'), lineOf('when'), lineOf('nothing')]).toEqual([2, 4, 6]);
  });
});
