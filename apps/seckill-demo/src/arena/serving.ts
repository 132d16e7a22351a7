import type { ServingBanner } from './texts.js';

export const SHOP_STOCK = 100;
export const SHOP_PRODUCT = '1';

/** Examples that work when pasted into a shell. */
export function bannerFor(url: string, pids: readonly number[]): ServingBanner {
  const product = `${url}/api/products/${SHOP_PRODUCT}`;
  const json = `-H 'content-type: application/json'`;
  return {
    url,
    pids,
    stock: SHOP_STOCK,
    curls: [
      `curl -i -X POST ${product}/orders ${json} -d '{"buyer":"alice"}'`,
      `curl -i -X POST '${product}/orders?strategy=setnx' ${json} -d '{"buyer":"bob"}'`,
      `curl ${product}`,
      `curl -X DELETE ${product}/orders/alice`,
      `curl -X PUT ${product}/stock ${json} -d '{"stock":5}'`,
    ],
  };
}
