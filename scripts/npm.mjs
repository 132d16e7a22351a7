// Node built-ins only: it runs before anything is installed.

/**
 * How to start npm. Run by npm, its own script is known and needs no shell; on Windows `npm` alone is
 * not a program. Each folder's own .npmrc decides on peers.
 * @param {string[]} args
 * @returns {[command: string, args: string[]]}
 */
export function npmCommand(...args) {
  // `npm run` sets it from our .npmrc, and it would count more than the .npmrc of another folder.
  delete process.env.npm_config_legacy_peer_deps;
  const npm = process.env.npm_execpath ?? '';
  return npm.endsWith('npm-cli.js') ? [process.execPath, [npm, ...args]] : ['npm', args];
}
