import { describeLineOutsiders } from '../../../../../test/contract/line-outsiders.contract.js';
import { LINE_KINDS } from '../../../../../test/support/line-kinds.js';

describeLineOutsiders('the lock', LINE_KINDS.LOCK);
