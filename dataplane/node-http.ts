/**
 * node:http as CommonJS sees it. Whoever imports it as an ECMAScript module has all of its exports read, and reading one of them
 * loads Node's own fetch and WebSocket, which nothing here uses: more than any package does to a start.
 */
import type * as Http from 'node:http';
import { createRequire } from 'node:module';

export const nodeHttp: typeof Http = createRequire(import.meta.url)('node:http');
