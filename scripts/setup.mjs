// Runs before anything is installed: Node built-ins only.
import { argv } from 'node:process';
import { prepare } from './prepare.mjs';

const asked = (/** @type {string} */ name) => argv.includes(`--${name}`);

await prepare({
  bench: asked('bench'),
  library: asked('library') || asked('bench'),
  redis: asked('redis') || asked('bench'),
  site: asked('site'),
  web: asked('web'),
});
