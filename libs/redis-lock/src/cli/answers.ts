import type { Client } from '../connection/client.js';
import { isReply } from '../connection/reply-error.js';

/** A server did not answer: it counts as unreachable. */
export class UnreachableError extends Error {}

/** A server answered, and refused. */
export class RefusedError extends Error {}

/** The answer of a server, or its refusal. */
export type Answer = { readonly value: unknown } | { readonly refusal: string };

/**
 * Sends one command. A refusal by the server is an answer.
 * @throws {UnreachableError} there was no answer
 */
export function ask(
  client: Client,
  command: string,
  ...args: (string | number)[]
): Promise<Answer> {
  return answerOf(command, client.send(command, ...args));
}

/** As `ask`, for a command that is sent. */
export async function answerOf(command: string, sent: Promise<unknown>): Promise<Answer> {
  try {
    return { value: await sent };
  } catch (error) {
    if (isReply(error)) return { refusal: textOf(error) };
    throw new UnreachableError(`no answer to ${command.toUpperCase()}: ${textOf(error)}`);
  }
}

/** As `ask`, for a text; undefined when the server refuses. */
export async function askText(
  client: Client,
  command: string,
  ...args: string[]
): Promise<string | undefined> {
  const answer = await ask(client, command, ...args);
  return 'value' in answer ? String(answer.value) : undefined;
}

/** @throws {UnreachableError} it took longer */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new UnreachableError(`${what} took longer than ${String(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server repeats words that it does not know: after HELLO that may be a password. */
export function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/,? with args beginning with.*$/s, '').trim();
}

/** The error, and Redis' own words, which name the missing right. */
export function reasonOf(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) texts.push(textOf(one));
  const [what = textOf(error), said] = texts.slice(-2);
  const plain = what.replace(/^Lock "[^"]*": /, '');
  return said === undefined || plain.endsWith(said) ? plain : `${plain} (${said})`;
}

/** The value of a line of INFO. */
export function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
