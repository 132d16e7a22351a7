import { describe, expect, it } from '@jest/globals';
import { tokenize } from '../../site/.vitepress/search.js';

describe('the search of the docs', () => {
  it.each([
    ['看门狗续租', '看门狗'],
    ['红锁', '锁'],
    ['\u{20BB7}锁表', '锁表'],
    ['LockTimeoutError', 'LockTimeoutError'],
    ['waitTimeMs', 'Time'],
  ])('finds a page with %s by %s', (text, search) => {
    expect(tokenize(text, 'text')).toEqual(expect.arrayContaining(tokenize(search)));
  });

  it('finds a word of two signs by this word alone', () => {
    expect(tokenize('续租')).toEqual(['续租']);
  });
});
