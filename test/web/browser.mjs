import { chromium } from 'playwright-core';
import { findPrivateChromium, hasPrivateChromium } from '../../scripts/private-chromium.mjs';

/**
 * The caller closes it: a spec file in `afterAll`. It ends with the process, too.
 * @param {string[]} args more arguments of Chromium
 */
export async function openBrowser(...args) {
  // Elsewhere an installed Chrome has to do.
  if (!hasPrivateChromium) return chromium.launch({ channel: 'chrome', args });
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
