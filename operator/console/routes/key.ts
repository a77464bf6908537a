/** One API key: its creation, its form, the page that shows it once, its rotation and its end. */
import { createKey, newKeyPage } from '../keys/key-creation.ts';
import { openKey, saveKey } from '../keys/key-editing.ts';
import { keyOfVisit } from '../keys/key-of-visit.ts';
import { deleteKey, deletePage, rotateKey, rotatePage } from '../keys/key-rotation.ts';
import { madePage } from '../keys/made-key.ts';
import type { ConsoleRoute } from '../route.ts';

/** The boxes of the models. */
const REPEATED = ['model'];

export const keyRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/new', handle: newKeyPage },
  { method: 'POST', path: '/keys/new', repeated: REPEATED, handle: createKey },
  { method: 'GET', path: '/keys/:namespace/:name', handle: openKey },
  { method: 'POST', path: '/keys/:namespace/:name', repeated: REPEATED, handle: saveKey },
  { method: 'GET', path: '/keys/:namespace/:name/created', handle: madePage },
  { method: 'GET', path: '/keys/:namespace/:name/rotate', handle: async (visit) => rotatePage(visit, await keyOfVisit(visit)) },
  { method: 'POST', path: '/keys/:namespace/:name/rotate', handle: rotateKey },
  { method: 'GET', path: '/keys/:namespace/:name/delete', handle: async (visit) => deletePage(visit, await keyOfVisit(visit)) },
  { method: 'POST', path: '/keys/:namespace/:name/delete', handle: deleteKey },
];
