/** undici's pool without the rest of undici (fetch, WebSocket, caches), which would be loaded with it and takes as long again. */
import { createRequire } from 'node:module';
import type { Pool } from 'undici';

export const FleetPool: typeof Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js');
