import { expect, it } from '@jest/globals';
import { isReply } from '../connection/reply-error.js';
import { readable } from './reply.js';

it('knows an error of Redis in an answer, though a bundler has renamed its class', () => {
  const renamed = class x extends Error {};
  const answer = readable([1, null, new renamed('WRONGTYPE'), 'a']) as readonly unknown[];
  expect(answer.map(isReply)).toEqual([false, false, true, false]);
});
