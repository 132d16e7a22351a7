import type { Command, CommandRefusal } from '../../arena/step.js';

export type Reply =
  | { readonly kind: 'done'; readonly body: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'refused';
      /** Undefined: only the message says why. */
      readonly reason?: CommandRefusal | 'no-token' | 'offline' | undefined;
      readonly message: string;
    };

const token = new URLSearchParams(location.search).get('token') ?? '';

/** Sends a command to the arena; never rejects. */
export async function send(command: Command): Promise<Reply> {
  try {
    const response = await fetch('./commands', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-arena-token': token },
      body: JSON.stringify(command),
    });
    const body = (await response.json()) as Readonly<Record<string, unknown>>;
    if (response.ok) return { kind: 'done', body };
    const reason = response.status === 401 ? 'no-token' : (body['reason'] as CommandRefusal);
    return { kind: 'refused', reason, message: messageIn(body) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'refused', reason: 'offline', message };
  }
}

/** In the words of the page, if it has words for the reason. */
export function reasonOf(
  { reason, message }: Reply & { readonly kind: 'refused' },
  words: Readonly<Partial<Record<string, string>>>,
): string {
  return (reason && words[reason]) ?? message;
}

/** A list, if the input was wrong. */
function messageIn({ message }: Readonly<Record<string, unknown>>): string {
  return Array.isArray(message) ? message.join('; ') : String(message);
}
