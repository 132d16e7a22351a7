import { describeLineOutsiders } from '../contract/line-outsiders.contract.js';
import { describeLineScripts } from '../contract/line-scripts.contract.js';
import { LINE_KINDS } from '../support/line-kinds.js';

describeLineScripts('the lock', LINE_KINDS.LOCK);
describeLineOutsiders('the lock', LINE_KINDS.LOCK);
describeLineScripts('the write lock', LINE_KINDS.WRITE_LOCK);
describeLineOutsiders('the write lock', LINE_KINDS.WRITE_LOCK);
