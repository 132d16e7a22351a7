import { rmSync } from 'node:fs';

export default function unpack() {
  rmSync(String(process.env.CONSUMERS_FOLDER), { recursive: true, force: true });
}
