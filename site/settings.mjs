import { env } from 'node:process';

const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = env;
/**
 * Where the sources are, such as `https://github.com/<owner>/<name>`: a workflow of GitHub knows it. Empty:
 * a link to a source is its text.
 */
export const REPOSITORY = server && name ? `${server}/${name}` : '';
/** The folder of the host that the site is in, with a slash at both ends. */
export const BASE = '/';
