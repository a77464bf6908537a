/** Every page of the console in one place; each file in routes/ is one page with the forms that it posts. */
import type { ConsoleRoute } from './route.ts';
import { keyRoutes } from './routes/key.ts';
import { keysRoutes } from './routes/keys.ts';
import { pricesRoutes } from './routes/prices.ts';
import { walletCallsRoutes } from './routes/wallet-calls.ts';
import { walletGrantsRoutes } from './routes/wallet-grants.ts';
import { walletRoutes } from './routes/wallet.ts';

/** The pages of signed-in people. Signing in and out, and the assets, are the server's own. */
export const ROUTES: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/', handle: () => ({ redirect: '/keys' }) },
  ...keysRoutes,
  ...keyRoutes,
  ...walletRoutes, ...walletCallsRoutes, ...walletGrantsRoutes,
  ...pricesRoutes,
];
