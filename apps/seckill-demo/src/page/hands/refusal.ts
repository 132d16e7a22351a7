/** Why the shop did not do what a buyer wanted. */
export type Refusal =
  | { readonly kind: 'has-one' | 'no-order' | 'busy' | 'not-open' }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * The shop's answer to an order or a payment, as the arena passes it on: its status and its body.
 * Undefined: the steps of the order show the rest, such as paid or too late.
 */
export function refusalOf(
  asked: 'buy' | 'pay',
  { status, body }: Readonly<Record<string, unknown>>,
): Refusal | undefined {
  switch (status) {
    case 201:
    case 202:
    case 410:
      return undefined;
    case 404:
      return { kind: 'no-order' };
    case 409:
      return asked === 'buy' ? { kind: 'has-one' } : undefined;
    case 423:
      return { kind: 'busy' };
    case 425:
      return { kind: 'not-open' };
    default:
      return { kind: 'failed', message: messageIn(body) ?? `status ${String(status)}` };
  }
}

function messageIn(body: unknown): string | undefined {
  if (typeof body !== 'string') return undefined;
  try {
    return (JSON.parse(body) as { message?: string }).message;
  } catch {
    return undefined;
  }
}
