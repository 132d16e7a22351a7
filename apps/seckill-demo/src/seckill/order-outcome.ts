export type OrderOutcome =
  | { readonly kind: 'sold'; readonly remaining: number }
  | { readonly kind: 'sold-out' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'unknown-product' };
