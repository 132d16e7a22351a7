import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';

export default function globalTeardown() {
  rmSync(tmpdir(), { recursive: true, force: true });
}
