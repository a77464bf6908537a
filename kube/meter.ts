/** The figures that this library counts, whoever keeps them: labels are resources, verbs, outcomes and reasons. */

export type KubeCounter =
  | 'modelgateway_operator_api_requests_total'
  | 'modelgateway_operator_events_total'
  | 'modelgateway_operator_lists_total'
  | 'modelgateway_operator_watch_events_total'
  | 'modelgateway_operator_watch_restarts_total';

export interface KubeMeter {
  /** Adds to a counter. */
  add(name: KubeCounter, labels: Readonly<Record<string, string>>, value: number): void;
}
