import 'reflect-metadata';

import { report, serve } from '../support/worker.js';
import { Gateway, main } from './examples/recipes/kubernetes.js';

let open: () => void = () => undefined;
const opened = new Promise<void>((resolve) => {
  open = resolve;
});

const api = {
  start: async () => (await main(0)).getUrl(),
  /** Payments take until `open()`. */
  shut: () => {
    Gateway.prototype.charge = async (order) => {
      report('inside');
      await opened;
      return `${order} is paid`;
    };
  },
  open: () => {
    open();
  },
};
export type Api = typeof api;
serve(api);
