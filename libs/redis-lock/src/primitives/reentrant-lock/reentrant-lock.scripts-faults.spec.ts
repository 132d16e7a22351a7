import { describeLineFaults } from '../../../../../test/contract/line-faults.contract.js';
import { LINE_KINDS } from '../../../../../test/support/line-kinds.js';

describeLineFaults('the lock', LINE_KINDS.LOCK);
