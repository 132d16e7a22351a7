// Node built-ins only: it runs before anything is installed.

/**
 * How to start npm. Run by npm, its own script is known and needs no shell; on Windows `npm` alone is
 * not a program.
 * @param {string[]} args
 * @returns {[command: string, args: string[]]}
 */
export function npmCommand(...args) {
  const npm = process.env.npm_execpath ?? '';
  return npm.endsWith('npm-cli.js') ? [process.execPath, [npm, ...args]] : ['npm', args];
}

/**
 * The environment in which the .npmrc of each folder decides on peers. `npm run` adds ours to its
 * own, which would count more.
 * @returns {NodeJS.ProcessEnv}
 */
export function npmEnvironment() {
  const environment = { ...process.env };
  delete environment.npm_config_legacy_peer_deps;
  return environment;
}
