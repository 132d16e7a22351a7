import './arena-page.js';
import { connection } from './sources/connection.js';
import { followArena } from './sources/live-source.js';
import { playRecording } from './sources/recording.js';

const address = new URLSearchParams(location.search);
const run = address.get('run') ?? document.documentElement.dataset['run'];

const token = address.get('token') ?? '';

if (run === undefined && token === '') {
  connection.set('no-token');
} else if (run === undefined) {
  followArena(token);
} else {
  playRecording(run).catch(() => {
    connection.set('missing');
  });
}
