import { chromium } from 'playwright-core';
import { findPrivateChromium, hasPrivateChromium } from '../../scripts/private-chromium.mjs';
import { StepError } from '../../scripts/run-step.mjs';

const UNAVAILABLE = 69;

/**
 * The caller closes it: a spec file in `afterAll`. It ends with the process, too.
 * @param {string[]} args more arguments of Chromium
 */
export async function openBrowser(...args) {
  if (!hasPrivateChromium) return openChrome(args);
  const found = findPrivateChromium();
  if (found === null) throw new Error('No browser: "npm run test:web" unpacks one.');
  return chromium.launch({
    executablePath: found.command,
    // In the C locale, `navigator.language` is no language that Intl knows.
    env: { ...process.env, LC_ALL: 'en_US.UTF-8', ...found.env },
    // Letters have the same widths on every machine.
    args: ['--font-render-hinting=none', ...args],
  });
}

/**
 * Elsewhere an installed Chrome has to do.
 * @param {string[]} args
 */
export async function openChrome(args, channel = 'chrome') {
  try {
    return await chromium.launch({ channel, args });
  } catch (error) {
    const [reason] = /** @type {Error} */ (error).message.split('\n');
    const need = 'the pages need Linux on x64, or an installed Chrome';
    throw new StepError(`No browser: ${need}. ${reason}`, UNAVAILABLE);
  }
}
