/** What a buyer is told. */
export type PurchaseAnswer =
  | { readonly kind: 'bought'; readonly remaining: number | undefined }
  | { readonly kind: 'paid' }
  | {
      readonly kind:
        'queued' | 'sold-out' | 'too-late' | 'has-one' | 'busy' | 'no-order' | 'not-open';
    }
  | { readonly kind: 'failed'; readonly message: string };

/** The shop's answer to an order or a payment, as the arena hands it on: its status and its body. */
export function purchaseAnswer(
  asked: 'buy' | 'pay',
  { status, body }: Readonly<Record<string, unknown>>,
): PurchaseAnswer {
  const { remaining, message } = parsed(body);
  switch (status) {
    case 202:
      return { kind: asked === 'pay' ? 'paid' : 'queued' };
    case 200:
    case 201:
      return asked === 'pay' ? { kind: 'paid' } : { kind: 'bought', remaining };
    case 404:
      return { kind: 'no-order' };
    case 409:
      return asked === 'pay' ? { kind: 'paid' } : { kind: 'has-one' };
    case 410:
      return { kind: asked === 'pay' ? 'too-late' : 'sold-out' };
    case 423:
      return { kind: 'busy' };
    case 425:
      return { kind: 'not-open' };
    default:
      return { kind: 'failed', message: message ?? `status ${String(status)}` };
  }
}

function parsed(body: unknown): { readonly remaining?: number; readonly message?: string } {
  if (typeof body !== 'string') return {};
  try {
    return JSON.parse(body) as { remaining?: number; message?: string };
  } catch {
    return {};
  }
}
