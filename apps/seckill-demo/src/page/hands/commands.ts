import type { Command } from '../../arena/step.js';

export type Reply =
  | { readonly kind: 'done'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: 'refused'; readonly message: string };

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
    return response.ok ? { kind: 'done', body } : { kind: 'refused', message: messageIn(body) };
  } catch (error) {
    return { kind: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}

/** A list, if the input was wrong. */
function messageIn({ message }: Readonly<Record<string, unknown>>): string {
  return Array.isArray(message) ? message.join('; ') : String(message);
}
