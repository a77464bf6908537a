/** Pages of usage over all accounts: the report, its calls and margins. */
import type { ConsoleRoute } from '../route.ts';
import { usageCallsRoutes } from './calls.ts';
import { usageMarginsRoutes } from './margins.ts';
import { usageMonthsRoutes } from './months.ts';
import { usageRefusedRoutes } from './refused.ts';
import { usageReportRoutes } from './report.ts';

export const usageRoutes: readonly ConsoleRoute[] = [
  ...usageCallsRoutes,
  ...usageMarginsRoutes,
  ...usageMonthsRoutes,
  ...usageRefusedRoutes,
  ...usageReportRoutes,
];
