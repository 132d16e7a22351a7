import { FIRST_PRODUCT } from '../settings.js';
import type { ServingBanner } from './texts.js';

/** Examples that work when you paste them into a shell. */
export function bannerFor(url: string, pids: readonly number[]): ServingBanner {
  const product = `${url}/api/products/${FIRST_PRODUCT.id}`;
  const json = `-H 'content-type: application/json'`;
  return {
    url,
    pids,
    product: FIRST_PRODUCT,
    curls: [
      `curl -i -X POST ${url}/api/orders ${json} -d '{"product":"1","buyer":"alice"}'`,
      `curl '${url}/api/orders?product=1&buyer=alice'`,
      `curl -i -X POST '${product}/orders?strategy=setnx' ${json} -d '{"buyer":"bob"}'`,
      `curl ${product}`,
      `curl -X POST ${product}/orders/bob/payment`,
      `curl -X DELETE ${product}/orders/bob`,
      `curl -X PUT ${product}/stock ${json} -d '{"stock":5}'`,
      `curl -X PUT ${url}/api/products/2/offer ${json} -d '{"price":4900,"stock":5}'`,
      `curl ${url}/api/products/2/offer`,
      `curl -X POST ${url}/api/carts/orders ${json} -d '{"buyer":"carol","products":["2","1"]}'`,
    ],
  };
}
