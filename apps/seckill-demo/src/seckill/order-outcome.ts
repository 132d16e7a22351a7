export type OrderOutcome = { readonly kind: 'sold'; readonly remaining: number } | Refusal;

export type Refusal =
  | { readonly kind: 'sold-out' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'unknown-product' };
