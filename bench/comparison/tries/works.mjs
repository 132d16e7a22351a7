import { check } from '../support.mjs';
import { withService } from './nest.mjs';

/** A call under the lock, by hand and by the decorator. */
export async function works({ library, locks, url, admin }) {
  const work = async () => {
    check((await admin.dbsize()) > 0, 'the lock has no key');
    return 'done';
  };
  check((await locks.using('call', work)) === 'done', 'the result is lost');
  if (!library.nest) return 'yes';
  const { module, decorator } = library.nest;
  const run = (service) => service.run(work);
  check((await withService(module(url), decorator, run)) === 'done', 'the result is lost');
  return 'yes';
}
