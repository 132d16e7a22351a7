/**
 * Where the sources are, such as `https://github.com/<owner>/<name>`. Empty: a link to a source is its text.
 * @type {string}
 */
export const REPOSITORY = '';
/** The folder of the host that the site is in, with a slash at both ends. */
export const BASE = '/';
