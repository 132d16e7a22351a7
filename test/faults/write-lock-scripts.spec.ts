import { describeLineFaults } from '../contract/line-faults.contract.js';
import { LINE_KINDS } from '../support/line-kinds.js';

describeLineFaults('the write lock', LINE_KINDS.WRITE_LOCK);
