/** The bodies of the API by name, as the server describes them. */
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Job = Schemas["JobBody"];
export type JobList = Schemas["JobList"];
export type Transition = Schemas["TransitionItem"];
export type TransitionList = Schemas["TransitionList"];
export type Explanation = Schemas["ExplainBody"];
export type WorkerList = Schemas["WorkerList"];
export type Artifact = Schemas["ArtifactBody"];
export type ArtifactList = Schemas["ArtifactList"];
export type ArtifactFile = Schemas["FileItem"];
export type ArtifactFileList = Schemas["FileList"];
export type UploadList = Schemas["UploadList"];
export type Tree = Schemas["Tree"];
export type TreeFile = Schemas["TreeFile"];
export type TreeFolder = Schemas["FolderItem"];
export type Provenance = Schemas["Provenance"];
export type Crew = Schemas["Crew"];
export type CrewMember = Crew["items"][number];
export type Credential = Schemas["CredentialBody"];
export type CredentialList = Schemas["CredentialList"];
export type IssuedCredential = Schemas["IssuedBody"];
export type Me = Schemas["MeBody"];
export type Session = SessionList["items"][number];
export type SessionList = Schemas["SessionList"];
export type Token = Schemas["TokenBody"];
export type NewToken = Schemas["NewTokenBody"];
export type TokenList = Schemas["TokenList"];
export type JobRow = Schemas["JobRow"];
export type JobPage = Schemas["JobPage"];
export type JobNow = Schemas["JobNow"];
export type JobsThen = Schemas["JobsThen"];
export type Forecast = Schemas["Forecast"];
export type FirstOwner = Schemas["FirstOwner"];
export type SettingList = Schemas["SettingList"];
export type Throughput = Schemas["Throughput"];
export type WaitingList = Schemas["WaitingList"];
export type MoveList = Schemas["MoveList"];
export type DeedList = Schemas["DeedList"];
export type User = Schemas["UserBody"];
export type UserList = Schemas["UserList"];
export type AccessKey = Schemas["AccessKeyBody"];
export type AccessKeyList = Schemas["AccessKeyList"];
export type NewAccessKey = Schemas["NewAccessKeyBody"];
export type Overview = Schemas["OverviewBody"];
export type LogList = Schemas["LogList"];

/** What a follower of a log is told; a feed's events are not part of the description. */
export interface LogEvent {
  attempt: number;
  offset: number;
  text?: string;
  size_bytes?: number;
  status?: string;
}
