/** The models of the gateway, with the prices of the groups that a person could use or may read. */
import { MODELS_PATH, parseModelsQuery, renderModels } from './models-view.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { seenGroups } from './groups.ts';

async function showModels(request: PageRequest): Promise<HandlerResult> {
  const { list } = await seenGroups(request);
  const body = renderModels(list, parseModelsQuery(request.query, list));
  const styles = ['catalog.css', 'pricing.css'];
  return { page: { title: 'Models', active: 'models', body, styles } };
}

export const modelsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: MODELS_PATH, handle: showModels }];
