/**
 * Support: the Envoy messages of the tests, written field by field (numbers as in
 * envoy/config/{cluster,endpoint,listener,route}/v3).
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { RawResource } from '../../../../operator/xds/distribution.ts';

type Field = readonly [number: number, value: string | number | Uint8Array];

const ENVOY = 'type.googleapis.com/envoy';
export const CLUSTER = `${ENVOY}.config.cluster.v3.Cluster`;
export const ENDPOINTS = `${ENVOY}.config.endpoint.v3.ClusterLoadAssignment`;
export const LISTENER = `${ENVOY}.config.listener.v3.Listener`;
export const ROUTES = `${ENVOY}.config.route.v3.RouteConfiguration`;
const HTTP_MANAGER = `${ENVOY}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const ROUTER = `${ENVOY}.extensions.filters.http.router.v3.Router`;

function message(...fields: readonly Field[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of fields) {
    if (typeof value === 'number') writer.tag(number, WireType.Varint).uint32(value);
    else if (typeof value === 'string') writer.tag(number, WireType.LengthDelimited).string(value);
    else writer.tag(number, WireType.LengthDelimited).bytes(value);
  }
  return writer.finish();
}

function any(typeUrl: string, value: Uint8Array): Uint8Array {
  return message([1, typeUrl], [2, value]);
}

/** ConfigSource: over this very stream, of version 3. */
const ADS = message([3, message()], [6, 2]);

function address(port: number): Uint8Array {
  return message([1, message([2, '127.0.0.1'], [3, port])]);
}

/** A cluster whose endpoints come over xDS. */
export function cluster(name: string): RawResource {
  return { name, value: message([1, name], [2, 3], [3, message([1, ADS])], [4, message([1, 1])]) };
}

export function endpoints(name: string, port: number): RawResource {
  return {
    name,
    value: message([1, name], [2, message([2, message([1, message([1, address(port)])])], [3, message([1, 1])])]),
  };
}

/** A listener on a free port whose routes come over xDS; a broken one has a filter that does not exist. */
export function listener(name: string, routes: string, broken = false): RawResource {
  const router = message([1, 'router'], [4, any(broken ? `${ROUTER}That.Is.None` : ROUTER, message())]);
  const manager = message([2, name], [3, message([1, ADS], [2, routes])], [5, router]);
  return {
    name,
    value: message(
      [1, name],
      [2, address(0)],
      [3, message([3, message([1, 'http'], [4, any(HTTP_MANAGER, manager)])])],
    ),
  };
}

export function routes(name: string, toCluster: string): RawResource {
  const route = message([1, message([1, '/'])], [2, message([1, toCluster])]);
  return { name, value: message([1, name], [2, message([1, 'all'], [2, '*'], [3, route])]) };
}
