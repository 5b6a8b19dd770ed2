// All that a generated kernel includes.
#pragma once

#include "coll/types.h"
#include "coll/ptx.h"
#include "coll/region.h"
#include "coll/watch.h"
#include "coll/launch.h"
#include "coll/packet.h"
#include "coll/reduce.h"
#include "coll/poll.h"
#include "coll/ll.h"
#include "coll/ll128.h"
#include "coll/sentinel.h"
#include "coll/flag.h"
#include "coll/credit.h"
#include "coll/plain.h"
#include "coll/slots.h"
#include "coll/split.h"
